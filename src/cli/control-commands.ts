import { Argument, type Command } from 'commander'
import { liftFreeze, listFreezes, listRunning, setFreeze, stopWork } from './controls.ts'
import { someText, wholeNumber } from './parse.ts'
import { type Registry, withExamples } from './world.ts'

interface ListOptions {
  readonly limit: number
  readonly cursor?: string
}

interface TargetOptions {
  readonly sessionId?: string
  readonly agentId?: string
  readonly keyId?: string
  readonly owner?: string
  readonly all?: true
  readonly reason?: string
}

const listOptions = (command: Command): Command =>
  command
    .option('--limit <n>', 'how many', wholeNumber({ min: 1, max: 200 }), 50)
    .option('--cursor <text>', 'go on where a page before has ended')

/** Adds `running`, `stop` and `freezes`. */
export function addControlCommands(program: Command, { world, doing }: Registry): void {
  const running = listOptions(program.command('running'))
    .description('what runs, and what it costs a minute')
    .action(
      doing<ListOptions>(({ client, out }, { limit, cursor }) =>
        listRunning(client, { limit, cursor, nowMs: world.nowMs() }, out),
      ),
    )
  withExamples(running, ['switchyard running', 'switchyard running --json'])
  const stop = payerOptions(program.command('stop'))
    .description('stop a run, or all of an agent, a key, an owner or everybody, and cancel what waits behind')
    .option('--session-id <id>', 'that session')
    .option('--agent-id <id>', 'all sessions of that agent')
    .action(doing<TargetOptions>(({ client, out }, options) => stopWork(client, bodyOf(options), out)))
  withExamples(stop, [
    'switchyard stop --session-id ses_0199 --reason "it loops"',
    'switchyard stop --owner acme',
    'switchyard stop --all',
  ])
  addFreezes(program, { world, doing })
}

const payerOptions = (command: Command): Command =>
  command
    .option('--key-id <id>', 'that key, with the keys below it')
    .option('--owner <name>', 'that owner')
    .option('--all', 'everybody')
    .option('--reason <text>', 'shown to those who are stopped')

function addFreezes(program: Command, { doing }: Registry): void {
  const freezes = program
    .command('freezes')
    .description('whose spending is frozen; needs the master key, or one of role admin')
  const list = listOptions(freezes.command('ls'))
    .description('list freezes, newest first')
    .action(doing<ListOptions>(({ client, out }, { limit, cursor }) => listFreezes(client, { limit, cursor }, out)))
  withExamples(list, ['switchyard freezes ls'])
  const set = payerOptions(freezes.command('set'))
    .description('freeze spending: no new model call and no new run until it is lifted')
    .action(doing<TargetOptions>(({ client, out }, options) => setFreeze(client, bodyOf(options), out)))
  withExamples(set, ['switchyard freezes set --owner acme --reason "invoice is open"', 'switchyard freezes set --all'])
  const lift = freezes
    .command('lift')
    .description('lift a freeze; what waited for it goes on')
    .addArgument(new Argument('<id>', 'id of the freeze').argParser(someText))
    .action(doing(({ client, out }, _, [id = '']) => liftFreeze(client, { freezeId: id }, out)))
  withExamples(lift, ['switchyard freezes lift freeze_0199'])
  withExamples(freezes, ['switchyard freezes ls'])
}

/** The service says so when none of them is named, or several. */
const bodyOf = ({ sessionId, agentId, keyId, owner, all, reason }: TargetOptions) => ({
  ...(sessionId !== undefined && { session_id: sessionId }),
  ...(agentId !== undefined && { agent_id: agentId }),
  ...(keyId !== undefined && { key_id: keyId }),
  ...(owner !== undefined && { owner }),
  ...(all && { all }),
  ...(reason !== undefined && { reason }),
})
