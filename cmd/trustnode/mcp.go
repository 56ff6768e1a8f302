package main

import (
	"net"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/node/daemon"
	"trustnode/node/fault"
	"trustnode/node/mcp"
)

func mcpCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "mcp", Usage: "serve an agent's tools to an MCP client, on standard input and output", Flags: []cli.Flag{
		&cli.StringFlag{Name: "as", Usage: "`AGENT` whose tools they are, by name or DID"},
		&cli.StringFlag{Name: "node", Usage: "`URL` of the running node, e.g. http://127.0.0.1:8420; --data is not read then"}},
		Description: "It asks the running node and holds no key. The agent's token comes from TRUSTNODE_TOKEN, or from the file that\n" +
			"TRUSTNODE_TOKEN_FILE names and only its owner can read: trustnode agent token AGENT --for mcp\n" +
			"The same tools stand at URL/mcp for clients that speak Streamable HTTP, with the token as bearer token.",
		Action: func(c *cli.Context) error { return serveMCP(c, s) }}
}

func serveMCP(c *cli.Context, s *streams) error {
	if err := need(c, "as"); err != nil {
		return err
	}
	token, err := agentsToken()
	if err != nil {
		return err
	}
	base, err := nodeURL(c)
	if err != nil {
		return err
	}
	b := &mcp.Bridge{Base: base, Token: token, As: c.String("as"), Version: version}
	return b.Run(c.Context, s.in, s.out)
}

// agentsToken is the token of the environment.
func agentsToken() (string, error) {
	b, err := tokenSecret.given()
	if err == nil && len(b) == 0 {
		err = fault.New(fault.Unauthenticated, "token", "no token is given").
			WithHint("set TRUSTNODE_TOKEN, or TRUSTNODE_TOKEN_FILE to a file that holds it; trustnode agent token AGENT --for mcp makes one")
	}
	return strings.TrimSpace(string(b)), err
}

// nodeURL is where the node is reached. A token never crosses a network in the clear.
func nodeURL(c *cli.Context) (string, error) {
	if text := c.String("node"); text != "" {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" {
			return "", &usageError{"--node " + text + " is no address such as http://127.0.0.1:8420", help(c)}
		}
		ip := net.ParseIP(u.Hostname())
		local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
		if u.Scheme != "https" && !(u.Scheme == "http" && local) {
			return "", &usageError{"--node " + text + " would send the token in the clear", "use https, or an address of this machine"}
		}
		return u.Scheme + "://" + u.Host, nil
	}
	cfg, err := configOf(c)
	if err != nil {
		return "", err
	}
	h, held := daemon.Held(cfg.Dir)
	if !held || h.HTTP == "" {
		return "", fault.New(fault.Unavailable, "node", "no node runs on %s", cfg.Dir).WithHint("start it: trustnode run --data %s", c.String("data"))
	}
	return "http://" + h.HTTP, nil
}
