package httpapi

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// route prepares an operator's operation and hands it to register.
func (s *server) route(_ huma.API, method, path, id, summary string, status int, register func(huma.Operation)) {
	register(huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, DefaultStatus: status, Security: operatorOnly,
		MaxBodyBytes: maxOperatorBody, BodyReadTimeout: bodyTimeout, Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict}})
}
