package client

import "time"

// DefaultTimeout is how long a lender may take to answer.
const DefaultTimeout = 2 * time.Second
