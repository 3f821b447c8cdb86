import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { after } from 'node:test'
import { createMcpHandler, fromJsonSchema, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { freePort } from '../service/free-port.ts'
import { serveHandler } from './serve-handler.ts'

/** Starts `@modelcontextprotocol/server-everything`, a legacy server with sessions; stopped after the last test. */
export async function startEverythingServer(): Promise<string> {
  const require = createRequire(import.meta.url)
  const program = require.resolve('@modelcontextprotocol/server-everything/dist/index.js')
  const port = await freePort()
  const child = spawn(process.execPath, [program, 'streamableHttp'], {
    env: { PATH: process.env['PATH'], PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  after(() => void child.kill('SIGKILL'))
  let text = ''
  while (!text.includes('listening')) {
    const [chunk] = (await once(child.stderr, 'data')) as [Buffer]
    text += chunk.toString()
  }
  child.stderr.resume()
  return `http://127.0.0.1:${port}/mcp`
}

/** Entries of `mcp_servers` for the programs `server-filesystem` (`files`) and `server-memory` (`graph`). */
export function realServerPrograms(): object[] {
  const { resolve } = createRequire(import.meta.url)
  const program = (name: string) => resolve(`@modelcontextprotocol/${name}/dist/index.js`)
  const entry = (server_name: string, args: readonly string[], env: object = {}) => ({
    ...{ server_name, transport: 'stdio', command: 'node', args, env },
  })
  return [
    entry('files', [program('server-filesystem'), '/workspace']),
    entry('graph', [program('server-memory')], { MEMORY_FILE_PATH: '/workspace/graph.jsonl' }),
  ]
}

/** Starts a modern server of the official SDK with the tools `echo`, `steps` and `confirm`. */
export const startModernServer = (): Promise<string> =>
  serveHandler(createMcpHandler(modernServer, { legacy: 'reject' }))

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })

function modernServer(): McpServer {
  const server = new McpServer({ name: 'modern', version: '1.0.0' })
  const word = fromJsonSchema<{ word: string }>({
    type: 'object',
    properties: { word: { type: 'string' } },
    required: ['word'],
  })
  server.registerTool('echo', { description: 'Echoes a word', inputSchema: word }, async ({ word: given }) =>
    text(given),
  )
  server.registerTool(
    'steps',
    { description: 'Reports two steps', inputSchema: word },
    async ({ word: given }, context) => {
      const progressToken = context.mcpReq._meta?.progressToken
      for (const progress of progressToken === undefined ? [] : [1, 2])
        await context.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken: progressToken ?? '', progress, total: 2 },
        })
      return text(given)
    },
  )
  server.registerTool('confirm', { description: 'Asks for a name' }, async context => {
    const answer = context.mcpReq.inputResponses?.['name'] as { content?: { name?: string } } | undefined
    if (answer) return text(`hello ${answer.content?.name}`)
    return inputRequired({
      inputRequests: {
        name: inputRequired.elicit({
          message: 'Your name?',
          requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        }),
      },
    })
  })
  return server
}
