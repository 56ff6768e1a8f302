package httpapi

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// route prepares an operator's operation, which the configuration may open to anyone, and hands it to register.
func (s *server) route(_ huma.API, method, path, id, summary string, status int, register func(huma.Operation)) {
	security := operatorOnly
	if s.opened(id) {
		security = operatorOrAnyone
	}
	register(huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, DefaultStatus: status, Security: security,
		MaxBodyBytes: maxOperatorBody, BodyReadTimeout: bodyTimeout, Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict}})
}
