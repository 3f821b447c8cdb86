import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startMcpApp } from '../../../../test/support/mcp/mcp-app.ts'
import { networkForTests, upstreamForTests } from '../../../../test/support/network/network.ts'
import { lack } from '../../../../test/support/service/lack.ts'
import { serverWith } from './stdio-for-tests.ts'

/** A server with one tool, which fetches a URL. */
const fetching = `
  const { createInterface } = require('node:readline')
  createInterface({ input: process.stdin }).on('line', async line => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    const send = body => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...body }))
    const { protocolVersion, arguments: args } = params ?? {}
    if (method === 'initialize')
      return send({ result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'f', version: '1' } } })
    if (method === 'tools/list') return send({ result: { tools: [{ name: 'get', inputSchema: { type: 'object' } }] } })
    if (method !== 'tools/call') return send({ error: { code: -32601, message: 'unknown method' } })
    const text = await fetch(args.url).then(answer => answer.text(), error => 'failed: ' + error.message)
    send({ result: { content: [{ type: 'text', text }] } })
  })`

if (!lack('bubblewrap') && !lack('socat')) {
  test('a program reaches the hosts of its network only, and without one it reaches none', async () => {
    const upstream = await upstreamForTests((request, response) => response.end(`reached ${request.url}`))
    const { sandboxes, lines } = await networkForTests({ names: ['api.example'] })
    const app = await startMcpApp({ sandboxes })
    const network = { type: 'limited', allowed_hosts: [{ host: 'api.example', ports: [upstream.port] }] }
    const command = ['node', '-e', fetching]
    app.configured.push(serverWith('open', { command, network }), serverWith('closed', { command }))
    const url = `http://api.example:${upstream.port}/page`
    const get = async (server_id: string, target: string) =>
      (await app.call('ana', 'POST /mcp-rest/tools/call', { server_id, name: 'get', arguments: { url: target } })).text
    assert.match(await get('open', url), /reached \/page/)
    assert.match(await get('open', 'http://other.example/'), /failed: /)
    assert.deepEqual(lines.map(({ session_id, host, outcome }) => [session_id, host, outcome]).slice(-1), [
      ['mcp-open', 'other.example', 'denied'],
    ])
    assert.match(String(lines.at(-1)?.['reason']), /is not in network\.allowed_hosts of MCP server open/)
    assert.match(await get('closed', url), /failed: /)
  })
}
