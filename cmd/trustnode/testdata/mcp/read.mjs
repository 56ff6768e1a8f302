// Reads a loan with two released clients of the TypeScript SDK, old and new, over both
// transports, and prints one line of JSON for each. The story it is told comes by the
// environment: URL, TOKEN, PERM, and PROGRAM with its arguments as a JSON list.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

// The packages lie where TRUSTNODE_MCP_CLIENTS says, not beside this file.
const from = createRequire(join(process.env.TRUSTNODE_MCP_CLIENTS, 'package.json'));
const load = (name) => import(pathToFileURL(from.resolve(name)));

const v1 = await load('@modelcontextprotocol/sdk/client/index.js');
const v1http = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
const v1stdio = await load('@modelcontextprotocol/sdk/client/stdio.js');
const v2 = await load('@modelcontextprotocol/client');
const v2stdio = await load('@modelcontextprotocol/client/stdio');

const { URL: url, TOKEN, PERM, PROGRAM, ...env } = process.env;
const [command, ...args] = JSON.parse(PROGRAM);
const http = { requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } } };
const stdio = { command, args, env: { ...env, TRUSTNODE_TOKEN: TOKEN }, stderr: 'inherit' };

const ways = [
  ['sdk 1', 'http', v1.Client, () => new v1http.StreamableHTTPClientTransport(new URL(url), http)],
  ['sdk 1', 'stdio', v1.Client, () => new v1stdio.StdioClientTransport(stdio)],
  ['client 2', 'http', v2.Client, () => new v2.StreamableHTTPClientTransport(new URL(url), http)],
  ['client 2', 'stdio', v2.Client, () => new v2stdio.StdioClientTransport(stdio)],
];

for (const [name, over, Client, transport] of ways) {
  const client = new Client({ name: 'test', version: '1' });
  const way = transport();
  await client.connect(way);
  const { tools } = await client.listTools();
  const read = await client.callTool({ name: 'loan_read', arguments: { permission: PERM, purpose: `read by ${name} over ${over}` } });
  const denied = await client.callTool({ name: 'loan_read', arguments: { permission: PERM, purpose: 'x', tenant: 'main' } });
  console.log(JSON.stringify({
    name, over, tools: tools.map((t) => t.name),
    entries: read.structuredContent?.entries?.map((e) => e.statement), receipt: read.structuredContent?.receipt,
    text: read.content[0].text, isError: read.isError ?? false,
    denied: denied.isError ? denied.structuredContent.code : '',
  }));
  await client.close();
}
