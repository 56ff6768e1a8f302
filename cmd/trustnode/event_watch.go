package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/node/config"
	"trustnode/node/daemon"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// watchAgain is the time between two looks for a node that went away.
const watchAgain = time.Second

func eventWatch(c *cli.Context, s *streams) error {
	q, err := filter(c)
	if err != nil {
		return err
	}
	cfg, err := configOf(c)
	if err != nil {
		return err
	}
	if h, held := daemon.Held(cfg.Dir); !held || h.HTTP == "" {
		return fault.New(fault.Unavailable, "watch", "no node runs on %s, so nothing comes", cfg.Dir).WithHint("trustnode run --data %s", cfg.Dir)
	}
	v := &view{s: s, names: orgNames{}, cursor: c.String("cursor"), ids: c.Bool("ids")}
	v.t.widen(watchColumns(v.ids))
	for told := (wait{}); ; {
		v.heard = false
		err := v.follow(c.Context, cfg, q)
		if c.Context.Err() != nil {
			return nil // interrupted, which is how a watch ends
		}
		if lasting(err) {
			return err
		}
		if why := waitsFor(err); v.heard || why != told {
			s.say(why.what, why.hint)
			told = why
		}
		select {
		case <-c.Context.Done():
			return nil
		case <-time.After(watchAgain):
		}
	}
}

// lasting reports whether asking again would get the same answer: all does but a connection that ended, and a node that
// says it has no answer now.
func lasting(err error) bool {
	var d *fault.Denied
	if errors.As(err, &d) {
		return d.Code != fault.Unavailable && d.Code != fault.RateLimited
	}
	var broken net.Error
	return err != nil && !errors.As(err, &broken) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, context.Canceled) // of a stream that fell silent
}

// wait is what a watch waits for, in words.
type wait struct{ what, hint string }

// waitsFor tells what a watch waits for after an error that is not lasting.
func waitsFor(err error) wait {
	var d *fault.Denied
	if !errors.As(err, &d) || d.Code == fault.Unavailable && (d.Reason == httpapi.ReasonNoNode || d.Reason == httpapi.ReasonNotRunning) {
		return wait{what: "the node is away; what comes meanwhile is told when it is back"}
	}
	return wait{d.Error(), d.Hint}
}

// errOutput says that what was found could not be written: whoever read it is gone.
var errOutput = errors.New("standard output is closed")

// view is what a watch shows, over all its streams.
type view struct {
	s      *streams
	names  orgNames
	t      table
	cursor string
	ids    bool // lines begin with the id
	heard  bool // something came over the last stream
}

// watchColumns is a row as wide as most are: a watch prints each line before it knows the next,
// and its columns must not move with every longer one.
func watchColumns(ids bool) []string {
	row := []string{time.DateTime, strings.Repeat(" ", 24), "loan.violation", strings.Repeat(" ", 44), ""}
	if ids {
		row = append([]string{strings.Repeat(" ", 49)}, row...)
	}
	return row
}

// follow reads one stream to its end.
func (v *view) follow(ctx context.Context, cfg config.Config, q url.Values) error {
	h, held := daemon.Held(cfg.Dir)
	if !held || h.HTTP == "" {
		return nil
	}
	k, err := remote(cfg, h)
	if err != nil {
		return err
	}
	k.api.HTTP, k.api.StartWait = &http.Client{}, 0 // a stream has no end to wait for
	var all httpapi.Events
	if err := k.call(ctx, "GET", "/api/v1/events?limit=1", nil, &all); err != nil {
		return err
	}
	for _, o := range all.Origins {
		v.names.add(o.Org)
	}
	return k.api.Watch(ctx, "/api/v1/events/watch?"+q.Encode(), v.cursor, func(cursor string, e httpapi.Event) error {
		v.cursor, v.heard = cursor, true
		if e.ID == "" {
			return nil
		}
		return v.show(cursor, e)
	})
}

// watched is one line of a watch for programs.
type watched struct {
	Cursor string `json:"cursor"`
	httpapi.Event
}

func (v *view) show(cursor string, e httpapi.Event) error {
	var err error
	if v.s.json {
		enc := json.NewEncoder(v.s.out)
		enc.SetEscapeHTML(false)
		err = enc.Encode(watched{cursor, e})
	} else {
		row := eventRow(v.names, e, v.ids)
		v.t.widen(row)
		_, err = fmt.Fprintln(printable{v.s.out}, v.t.line(row))
	}
	if err != nil {
		return errors.Join(errOutput, err)
	}
	return nil
}
