import { Argument, type Command, Option } from 'commander'
import type { SessionStatus } from '../contract/session-status.ts'
import { maxDimensions, usageDimensions } from '../contract/usage.ts'
import { exportAgent, importAgent } from './agent-files.ts'
import { listAgents } from './agents.ts'
import { agentFinder, sessionFinder } from './finders.ts'
import { NameArgument } from './names.ts'
import { nameAndValue, someText, wholeNumber } from './parse.ts'
import { addAgentCommands } from './resources/agents.ts'
import { addSessionExport } from './resources/session-export.ts'
import { addSessionRouteCommands } from './resources/sessions.ts'
import { compactSession, listSessions, sendPrompt, stopSession, tailSession } from './sessions.ts'
import { showUsage } from './usage.ts'
import { type Registry, withExamples } from './world.ts'

interface ListOptions {
  readonly limit: number
  readonly cursor?: string
}

interface Filter {
  readonly status?: SessionStatus
  readonly query?: string
  readonly metadata?: Readonly<Record<string, string>>
}

const statuses = ['pending', 'running', 'idle', 'error'] as const satisfies readonly SessionStatus[]
const sessionId = () => new NameArgument('<session>', 'id or title of the session', sessionFinder)

/** Adds `sessions`, `agents` and `usage`. */
export function addSessionCommands(program: Command, registry: Registry): void {
  const sessions = program.command('sessions').description('list, follow and control sessions')
  addSessionList(sessions, registry)
  addTail(sessions, registry)
  addSend(sessions, registry)
  addSessionRouteCommands(sessions, registry)
  addSessionExport(sessions, registry)
  withExamples(sessions.command('stop').alias('interrupt'), ['switchyard sessions stop ses_0199'])
    .description('stop the running prompt; queued prompts continue')
    .addArgument(sessionId())
    .action(registry.doing(({ client, out }, _, [id = '']) => stopSession(client, { sessionId: id }, out)))
  withExamples(sessions.command('compact'), ['switchyard sessions compact ses_0199'])
    .description('queue the compaction of the conversation into a summary')
    .addArgument(sessionId())
    .action(registry.doing(({ client, out }, _, [id = '']) => compactSession(client, { sessionId: id }, out)))
  const agents = program.command('agents').description('create, change, list, export and import agents')
  listOptions(agents.command('ls'))
    .description('list agents, newest first')
    .action(
      registry.doing<ListOptions>(({ client, out }, { limit, cursor }) => listAgents(client, { limit, cursor }, out)),
    )
  addAgentCommands(agents, registry)
  addAgentFiles(agents, registry)
  addUsage(program, registry)
  for (const group of [sessions, agents]) withExamples(group, [`switchyard ${group.name()} ls`])
  for (const list of agents.commands.filter(command => command.name() === 'ls'))
    withExamples(list, ['switchyard agents ls', 'switchyard agents ls --json'])
}

const listOptions = (command: Command): Command =>
  command
    .option('--limit <n>', 'maximum number of results', wholeNumber({ min: 1, max: 200 }), 50)
    .option('--cursor <text>', 'cursor of the next page')

function addSessionList(sessions: Command, { world, doing }: Registry): void {
  const list = listOptions(sessions.command('ls'))
    .description('list sessions, newest first')
    .addOption(new Option('--status <status>', 'only sessions with this status').choices(statuses))
    .option('--query <text>', 'only sessions whose title contains this, or with this id', someText)
    .option('--metadata <name=value>', 'only sessions with this metadata; repeatable', nameAndValue)
    .action(
      doing<ListOptions & Filter>(({ client, out }, { limit, cursor, status, query, metadata }) =>
        listSessions(client, { limit, cursor, status, text: query, metadata, nowMs: world.nowMs() }, out),
      ),
    )
  withExamples(list, ['switchyard sessions ls --status running', 'switchyard sessions ls --metadata team=blue --json'])
}

function addTail(sessions: Command, { world, doing }: Registry): void {
  const tail = sessions
    .command('tail')
    .description('print the last events of a session and follow it until Ctrl-C; reconnects automatically')
    .addArgument(sessionId())
    .addOption(new Option('--from-start', 'print all events').conflicts('after'))
    .option(
      '--after <n>',
      'print the events after this sequence number',
      wholeNumber({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    )
    .action(
      doing<{ fromStart?: boolean; after?: number }>(({ client, out }, { fromStart, after }, [id = '']) =>
        tailSession(client, { sessionId: id, from: fromStart ? 'start' : after, stop: world.stop }, out),
      ),
    )
  withExamples(tail, ['switchyard sessions tail ses_0199', 'switchyard sessions tail ses_0199 --from-start --json'])
}

function addSend(sessions: Command, { world, doing }: Registry): void {
  const send = sessions
    .command('send')
    .description('queue a prompt in a session')
    .addArgument(sessionId())
    .addArgument(new Argument('<text>', 'the prompt').argParser(someText))
    .option('--follow', 'print the run until it ends; Ctrl-C stops it')
    .option('--model <name>', "model to use; default: the model of the session's agent")
    .action(
      doing<{ follow?: boolean; model?: string }>(({ client, out }, { follow = false, model }, [id = '', text = '']) =>
        sendPrompt(client, { sessionId: id, text, model, follow, stop: world.stop }, out),
      ),
    )
  withExamples(send, ['switchyard sessions send ses_0199 "Now add tests" --follow'])
}

function addAgentFiles(agents: Command, { world, doing }: Registry): void {
  const agentId = new NameArgument('<agent>', 'id or name of the agent', agentFinder)
  const exported = agents
    .command('export')
    .description('print an agent as a JSON file without secrets')
    .addArgument(agentId)
    .action(doing(({ client, out }, _, [id = '']) => exportAgent(client, { agentId: id }, out)))
  const imported = agents
    .command('import')
    .description('create an agent from an exported file and print its id')
    .addArgument(new Argument('<file>', 'path of the file; - for standard input').argParser(someText))
    .option('--name <text>', 'name of the new agent; default: the name in the file')
    .option('--owner <name>', 'owner of the new agent; default: the owner in the file')
    .action(
      doing<{ name?: string; owner?: string }>(({ client, out }, { name, owner }, [path = '']) =>
        importAgent(client, { path, name, owner, readStdin: () => world.stdin.read() }, out),
      ),
    )
  withExamples(exported, ['switchyard agents export agent_0199 > ada.json'])
  withExamples(imported, ['switchyard agents import ada.json --name "Ada 2"'])
}

interface UsageOptions {
  readonly groupBy: string
  readonly from?: string
  readonly to?: string
  readonly timezone?: string
  readonly csv?: boolean
}

function addUsage(program: Command, { doing }: Registry): void {
  const usage = program
    .command('usage')
    .description('usage and cost of model calls; default: the last 30 days')
    .option('--group-by <names>', `up to ${maxDimensions} of ${usageDimensions.join(', ')}; comma-separated`, 'model')
    .option('--from <time>', 'start time, such as 2026-01-31 or 2026-01-31T12:00:00Z')
    .option('--to <time>', 'end time, exclusive')
    .option('--timezone <name>', 'time zone of days, such as Europe/Berlin; default: UTC')
    .option('--csv', 'print comma-separated values')
    .action(
      doing<UsageOptions>(({ client, out }, { groupBy, from, to, timezone, csv = false }) =>
        showUsage(client, { groupBy, from, to, timezone, isCsv: csv }, out),
      ),
    )
  withExamples(usage, ['switchyard usage', 'switchyard usage --group-by day,key --from 2026-01-01 --csv > usage.csv'])
}
