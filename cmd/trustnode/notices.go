package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

// noticeAck takes back what the operator has read.
func noticeAck(c *cli.Context, s *streams) error {
	return with(c, func(ctx context.Context, k *caller) error {
		var left httpapi.Notices
		if err := k.call(ctx, "POST", "/api/v1/notices/acknowledge", httpapi.NoticeAck{Ref: c.String("ack")}, &left); err != nil {
			return err
		}
		return s.result(left, func(w writer) {
			printNotices(w, left.Notices)
			if len(left.Notices) == 0 {
				fmt.Fprintln(w, "no notices")
			}
		})
	})
}

func printNotices(w writer, ns []httpapi.Notice) {
	for _, n := range ns {
		fmt.Fprintf(w, "notice      %s  %s\n            %s\n            read it: trustnode status --ack %s\n", n.At, n.Detail, n.Hint, n.Ref)
	}
}
