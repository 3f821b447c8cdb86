// Measures what tools cost: calls of sandboxes, forwarding and bridging of MCP, and sessions that wait for results. Linux only.
// npm run bench:tools                      every case
// npm run bench:tools -- <names> [--write]  these cases
// Ends with 1 when a figure is over its target.
import { caseProgram } from '../case-program.ts'
import { mcpBridge } from './mcp-bridge.ts'
import { mcpForwarding } from './mcp-forwarding.ts'
import { sandboxCalls } from './sandbox-calls.ts'
import { waiting } from './waiting.ts'

const tools = {
  script: 'bench:tools',
  subject: 'tools',
  casesWith: () => [sandboxCalls, mcpForwarding, mcpBridge, waiting],
}

process.exitCode = await caseProgram(tools, process.argv.slice(2))
