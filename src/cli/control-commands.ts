import type { Command } from 'commander'
import { liftFreeze, listFreezes, listRunning, setFreeze, stopWork } from './controls.ts'
import { agentFinder, freezeFinder, keyFinder, sessionFinder } from './finders.ts'
import { NameArgument, NameOption } from './names.ts'
import { wholeNumber } from './parse.ts'
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
    .option('--limit <n>', 'maximum number of results', wholeNumber({ min: 1, max: 200 }), 50)
    .option('--cursor <text>', 'cursor of the next page')

/** Adds `running`, `stop` and `freezes`. */
export function addControlCommands(program: Command, { world, doing }: Registry): void {
  const running = listOptions(program.command('running'))
    .description('list running sessions and their cost per minute')
    .action(
      doing<ListOptions>(({ client, out }, { limit, cursor }) =>
        listRunning(client, { limit, cursor, nowMs: world.nowMs() }, out),
      ),
    )
  withExamples(running, ['switchyard running', 'switchyard running --json'])
  const stop = payerOptions(program.command('stop'))
    .description('stop the runs of a session, an agent, a key, an owner or all, and cancel waiting prompts')
    .addOption(new NameOption('--session-id <session>', 'runs of this session', sessionFinder))
    .addOption(new NameOption('--agent-id <agent>', 'all sessions of this agent', agentFinder))
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
    .addOption(new NameOption('--key-id <key>', 'this key and its child keys', keyFinder))
    .option('--owner <name>', 'this owner')
    .option('--all', 'all keys and owners')
    .option('--reason <text>', 'reason, shown to the affected callers')

function addFreezes(program: Command, { doing }: Registry): void {
  const freezes = program
    .command('freezes')
    .description('spending freezes; requires the master key or a key of role admin')
  const list = listOptions(freezes.command('ls'))
    .description('list freezes, newest first')
    .action(doing<ListOptions>(({ client, out }, { limit, cursor }) => listFreezes(client, { limit, cursor }, out)))
  withExamples(list, ['switchyard freezes ls'])
  const set = payerOptions(freezes.command('set'))
    .description('freeze spending: reject new model calls and runs until the freeze is lifted')
    .action(doing<TargetOptions>(({ client, out }, options) => setFreeze(client, bodyOf(options), out)))
  withExamples(set, ['switchyard freezes set --owner acme --reason "invoice is open"', 'switchyard freezes set --all'])
  const lift = freezes
    .command('lift')
    .description('lift a freeze; waiting prompts continue')
    .addArgument(new NameArgument('<freeze>', 'id or target of the freeze', freezeFinder))
    .action(doing(({ client, out }, _, [id = '']) => liftFreeze(client, { freezeId: id }, out)))
  withExamples(lift, ['switchyard freezes lift freeze_0199'])
  withExamples(freezes, ['switchyard freezes ls'])
}

/** Body of the request; the service checks that exactly one target is set. */
const bodyOf = ({ sessionId, agentId, keyId, owner, all, reason }: TargetOptions) => ({
  ...(sessionId !== undefined && { session_id: sessionId }),
  ...(agentId !== undefined && { agent_id: agentId }),
  ...(keyId !== undefined && { key_id: keyId }),
  ...(owner !== undefined && { owner }),
  ...(all && { all }),
  ...(reason !== undefined && { reason }),
})
