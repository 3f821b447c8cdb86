import type { Command } from 'commander'
import type { Client } from '../../client/client.ts'
import { exitCodes } from '../exit-codes.ts'
import { sessionFinder } from '../finders.ts'
import { NameArgument } from '../names.ts'
import { plainJson } from '../plain-text.ts'
import { type Registry, withExamples } from '../world.ts'

/** Adds `sessions export`, which prints JSON lines with and without `--json`. */
export function addSessionExport(sessions: Command, { doing }: Registry): void {
  const command = sessions
    .command('export')
    .description('print a session and all its events as JSON lines')
    .addArgument(new NameArgument('<session>', 'id or title of the session', sessionFinder))
    .action(
      doing(async ({ client, out }, _, [session_id = '']) => {
        for await (const line of linesOf(client, session_id)) {
          out.data(line)
          out.line(plainJson(line))
        }
        return exitCodes.ok
      }),
    )
  withExamples(command, ['switchyard sessions export ses_0199 > session.jsonl'])
}

async function* linesOf(client: Client, session_id: string): AsyncGenerator<object> {
  const params = { session_id }
  yield { type: 'switchyard.session', session: await client.sessions.get({ params }) }
  let after = 0
  for (;;) {
    const query = { order: 'asc' as const, limit: 200, after: String(after) }
    const { data } = await client.events.list({ params, query })
    yield* data
    const last = data.at(-1)
    if (last === undefined) return
    after = last.seq
  }
}
