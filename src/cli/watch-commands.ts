import type { Command } from 'commander'
import { agentFinder, keyFinder, sessionFinder } from './finders.ts'
import { type CallFilter, showLogs } from './logs.ts'
import { NameOption } from './names.ts'
import { wholeNumber } from './parse.ts'
import { showStatus } from './status.ts'
import { type Registry, withExamples } from './world.ts'

interface LogsOptions {
  readonly limit: number
  readonly model?: string
  readonly outcome?: string
  readonly agent?: string
  readonly session?: string
  readonly ofKey?: string
  readonly from?: string
  readonly follow?: boolean
}

/** Adds `status` and `logs`. */
export function addWatchCommands(program: Command, { world, doing }: Registry): void {
  const status = program
    .command('status')
    .description('readiness, work in progress, spend today (UTC) and failures on one screen; exit code 1 unless ready')
    .action(doing(({ client, out }) => showStatus(client, out)))
  withExamples(status, ['switchyard status', 'switchyard status --json'])
  const logs = program
    .command('logs')
    .description('print the last model calls, oldest first')
    .option('--limit <n>', 'number of calls', wholeNumber({ min: 1, max: 200 }), 20)
    .option('--follow', 'print later calls until Ctrl-C')
    .option('--model <name>', 'only calls of this model')
    .option('--outcome <name>', 'only calls with this outcome: completed, failed, aborted or lost')
    .addOption(new NameOption('--agent <agent>', 'only calls of this agent', agentFinder))
    .addOption(new NameOption('--session <session>', 'only calls of this session', sessionFinder))
    .addOption(new NameOption('--of-key <key>', 'only calls with this virtual key', keyFinder))
    .option('--from <time>', 'only calls at this time or later, such as 2026-01-31T12:00:00Z')
    .action(
      doing<LogsOptions>(({ client, out }, { limit, follow = false, ...options }) =>
        showLogs(client, { limit, follow, filter: filterOf(options), stop: world.stop }, out),
      ),
    )
  withExamples(logs, ['switchyard logs --follow', 'switchyard logs --outcome failed --limit 100 --json'])
}

const filterOf = ({
  model,
  outcome,
  agent,
  session,
  ofKey,
  from,
}: Omit<LogsOptions, 'limit' | 'follow'>): CallFilter => ({
  ...(model !== undefined && { model }),
  ...(outcome !== undefined && { outcome }),
  ...(agent !== undefined && { agent_id: agent }),
  ...(session !== undefined && { session_id: session }),
  ...(ofKey !== undefined && { key_id: ofKey }),
  ...(from !== undefined && { from }),
})
