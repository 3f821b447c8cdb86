import { Argument, type Command, Option } from 'commander'
import { type McpServerCreate, mcpRoutes } from '../../contract/mcp.ts'
import { mcpCallRoutes } from '../../contract/mcp-calls.ts'
import { exitCodes } from '../exit-codes.ts'
import { mcpServerFinder } from '../finders.ts'
import { elapsedText } from '../format.ts'
import type { Out } from '../out.ts'
import { jsonText } from '../parse.ts'
import { plainLine, plainText } from '../plain-text.ts'
import { hiddenSecretOf } from '../secret-input.ts'
import type { Registry } from '../world.ts'
import { addGroup } from './group.ts'
import { addRouteCommand, type FieldArgument } from './route-command.ts'
import type { FieldOption } from './schema-option.ts'
import { ago, details, done, id, rows } from './show.ts'

const which: FieldArgument = {
  field: 'server_id',
  name: 'server',
  text: 'name or id of the server',
  finder: mcpServerFinder,
}

/** Fields of a registration. Credentials come from standard input, a variable or the vault, never from an argument. */
const settings: readonly FieldOption[] = [
  { field: 'auth_type', flag: 'auth' },
  { field: 'oauth2_flow', flag: 'oauth-flow' },
  { field: 'vault_key' },
  { field: 'alias', text: 'second name of the server' },
  { field: 'description', text: 'description of the server' },
  { field: 'allowed_tools', flag: 'allow-tool', text: 'only these tools' },
  { field: 'disallowed_tools', flag: 'deny-tool', text: 'all tools but these' },
]

/** Adds `mcp`. */
export function addMcpCommands(program: Command, registry: Registry): void {
  const group = addGroup(program, 'mcp', 'registered MCP servers and their tools', [
    'switchyard mcp ls',
    'switchyard mcp add docs https://mcp.example.com/mcp',
  ])
  addRouteCommand(group, registry, {
    name: 'ls',
    route: mcpRoutes.list,
    text: 'list registered servers',
    show: rows(
      servers => servers,
      [
        ['ID', ({ server_id }) => server_id],
        ['NAME', ({ server_name }) => server_name],
        ['STATUS', ({ status, pending_tools_hash }) => (pending_tools_hash === null ? status : 'tools changed')],
        ['AUTH', ({ auth_type }) => auth_type],
        ['CHECKED', ({ last_checked_at }, now) => ago(last_checked_at, now)],
        ['URL', ({ url }) => url ?? '-'],
      ],
      { empty: 'No MCP servers. Register one: switchyard mcp add <name> <url>', dropFirst: ['CHECKED', 'AUTH', 'URL'] },
    ),
    examples: ['switchyard mcp ls', 'switchyard mcp ls --json'],
  })
  addRouteCommand(group, registry, {
    name: 'show',
    route: mcpRoutes.get,
    text: 'show a server',
    args: [which],
    show: details(),
    examples: ['switchyard mcp show docs'],
  })
  addRouteCommand(group, registry, {
    name: 'add',
    route: mcpRoutes.create,
    text: 'register a server and print its id; requires an admin key',
    args: [
      { field: 'server_name', name: 'name', text: 'name of the server' },
      { field: 'url', text: 'address of the server; it must be public unless outbound.allow lists it' },
    ],
    fields: settings,
    extend: command =>
      void command
        .addOption(new Option('--from-env <name>', 'environment variable with the credential'))
        .option('--from-stdin', 'read the credential from standard input or a hidden prompt')
        .option(
          '--require-approval [tools...]',
          'a person must allow calls of these tools; without names of all tools',
        ),
    complete: async (request, { out, options }) => {
      const body = { ...(request['body'] as McpServerCreate), ...approvalsOf(options['requireApproval']) }
      const variable = options['fromEnv'] as string | undefined
      if (variable === undefined && !options['fromStdin']) return { ...request, body }
      return {
        ...request,
        body: { ...body, credentials: { auth_value: await hiddenSecretOf(registry.world, variable, out) } },
      }
    },
    show: id(({ server_id }) => server_id),
    examples: [
      'switchyard mcp add docs https://mcp.example.com/mcp',
      'switchyard mcp add github https://api.githubcopilot.com/mcp --auth bearer_token --from-env GITHUB_TOKEN',
      'switchyard mcp add tickets https://mcp.example.com/mcp --auth bearer_token --vault-key TICKETS --require-approval',
    ],
  })
  addChecks(group, registry)
  addTools(group, registry)
  addRouteCommand(group, registry, {
    name: 'rm',
    route: mcpRoutes.remove,
    text: 'delete a server; agents lose its tools',
    args: [which],
    destroys: ([id]) => `delete MCP server ${id}`,
    show: done((_, [id]) => `deleted ${id}`),
    examples: ['switchyard mcp rm docs --yes'],
  })
}

const approvalsOf = (given: unknown): Pick<McpServerCreate, 'require_approval'> =>
  given === undefined ? {} : { require_approval: given === true ? 'always' : (given as string[]) }

function addChecks(group: Command, registry: Registry): void {
  addRouteCommand(group, registry, {
    name: 'test',
    route: mcpRoutes.test,
    text: 'connect to a server and list its tools; exit code 1 when that fails',
    args: [which],
    show: ({ ok, latency_ms, tools, pending, error }, { out, args: [server] }) => {
      if (!ok) {
        out.line({ text: '✗ ', tone: 'bad' }, plainLine(error ?? 'test failed', 300))
        return exitCodes.failed
      }
      out.line({ text: '✓ ', tone: 'good' }, `${tools.length} tools (${elapsedText(latency_ms)})`)
      for (const { name } of tools) out.line(`  ${plainLine(name, 100)}`)
      if (pending.length > 0) out.note(`Changed tools wait: switchyard mcp accept ${server}`)
      return undefined
    },
    examples: ['switchyard mcp test docs'],
  })
  addRouteCommand(group, registry, {
    name: 'accept',
    route: mcpRoutes.accept,
    text: 'accept the changed tools of a server',
    args: [which],
    fields: [{ field: 'pending_tools_hash', flag: 'hash', text: 'accept only if the tools still have this hash' }],
    show: done(({ server_name }) => `accepted the tools of ${server_name}`),
    examples: ['switchyard mcp accept docs'],
  })
}

function addTools(group: Command, registry: Registry): void {
  addRouteCommand(group, registry, {
    name: 'tools',
    route: mcpRoutes.tools,
    text: 'list the tools of one server, or of all',
    args: [{ ...which, isOptional: true }],
    show: ({ tools, errors }, context) => {
      rows<typeof tools, (typeof tools)[number]>(
        all => all,
        [
          ['TOOL', ({ name }) => name],
          ['SERVER', ({ mcp_info }) => mcp_info.server_name],
          ['DESCRIPTION', ({ description }) => description ?? ''],
        ],
        { empty: 'No tools.' },
      )(tools, context)
      for (const error of errors) context.out.note(plainLine(JSON.stringify(error), 300))
      return undefined
    },
    examples: ['switchyard mcp tools docs'],
  })
  addRouteCommand(group, registry, {
    name: 'call',
    route: mcpRoutes.call,
    text: 'call a tool and print its result; exit code 1 when the tool reports an error',
    args: [which, { field: 'name', name: 'tool', text: 'name of the tool' }],
    extend: command => void command.addArgument(new Argument('[arguments]', 'JSON object').argParser(jsonObject)),
    complete: async (request, { args: [, , json] }) => {
      const given = json === undefined ? {} : { arguments: jsonObject(json) }
      return { ...request, body: { ...(request['body'] as object), ...given } }
    },
    show: ({ content, isError }, { out }) => {
      printContent(out, content)
      return isError ? exitCodes.failed : undefined
    },
    examples: [`switchyard mcp call docs search '{"query": "webhooks"}'`],
  })
  addRouteCommand(group, registry, {
    name: 'calls',
    route: mcpCallRoutes.list,
    text: 'list calls of tools, newest first',
    fields: [
      { field: 'server', text: 'only calls of this server' },
      { field: 'tool', text: 'only calls of this tool' },
      { field: 'outcome', text: 'only calls with this outcome' },
      { field: 'from' },
      { field: 'to' },
      { field: 'timezone' },
    ],
    show: rows(
      ({ calls }) => calls,
      [
        ['TIME', ({ created_at }, now) => ago(created_at, now)],
        ['OUTCOME', ({ outcome }) => outcome],
        ['MS', ({ ms }) => String(Math.round(ms))],
        ['BY', ({ principal }) => principal],
        ['TOOL', ({ server_name, tool }) => `${server_name} ${tool}`],
      ],
      { empty: 'No call matches.', dropFirst: ['BY'] },
    ),
    examples: ['switchyard mcp calls --server docs --outcome failed'],
  })
}

function jsonObject(text: string): Record<string, unknown> {
  return jsonText(text).value as Record<string, unknown>
}

function printContent(out: Out, content: readonly unknown[]): void {
  for (const block of content) {
    const { type, text } = block as { readonly type?: string; readonly text?: string }
    out.line(type === 'text' && text !== undefined ? plainText(text) : JSON.stringify(block))
  }
}
