package resolution_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/interop"
	"trustnode/did/resolution"
)

// A node serves what its registry resolves, over HTTP and to its command line.
func Example() {
	registry := interop.New(didkey.Resolver{})
	service := resolution.Service{
		Resolve: func(ctx context.Context, d did.DID, o did.Options) (did.Resolution, error) {
			return registry.Resolve(ctx, d.String(), did.Material{}, o)
		},
		Now: time.Now,
	}
	mux := http.NewServeMux()
	mux.Handle(resolution.Endpoint, resolution.Handler(service))

	const key = "did:key:z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S"
	request := httptest.NewRequest("GET", resolution.Endpoint+key, nil)
	request.Header.Set("Accept", "text/html;q=0.9, application/did")
	response := httptest.NewRecorder()
	mux.ServeHTTP(response, request)
	fmt.Println(response.Code, response.Header().Get("Content-Type"))

	answer := service.Text(context.Background(), key+"#z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S")
	fmt.Println(answer.Exit, answer.ContentType)

	answer = service.Text(context.Background(), "did:web:acme.example")
	fmt.Println(answer.Exit, answer.Err)
	// Output:
	// 200 application/did
	// 0 application/did-url-dereferencing
	// 2 METHOD_NOT_SUPPORTED: did:web; supported: key
}
