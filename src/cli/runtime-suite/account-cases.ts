import type { Bench } from './bench.ts'
import type { SuiteCase } from './case.ts'
import { check, NotShown } from './check.ts'
import { completedRun } from './run-cases.ts'

/** Tokens that a usage names, whatever they were used for. */
const tokensIn = (usage: unknown): number =>
  Object.entries((usage ?? {}) as Record<string, unknown>)
    .filter(([name]) => name.endsWith('_tokens'))
    .reduce((sum, [, count]) => sum + Number(count), 0)

async function tellsUsage({ newSession, prompts }: Bench): Promise<void> {
  const log = await completedRun(await newSession(), prompts.plain)
  const counts = log.flatMap(event => {
    if (event.type === 'session.usage') return [tokensIn(event['usage'])]
    return event.type === 'span.model_request_end' ? [tokensIn(event['model_usage'])] : []
  })
  check(counts.length > 0, 'neither session.usage nor span.model_request_end came')
  const tokens = Math.max(...counts)
  check(tokens > 0, 'the usage names no tokens')
}

async function listsModels({ client, runtime, model }: Bench): Promise<void> {
  const { models } = await client.agentRuntimes.models({ params: { runtime_id: runtime } })
  if (models.length === 0) throw new NotShown('the runtime does not say which models it has')
  const ids = models.map(({ id }) => id)
  check(new Set(ids).size === ids.length, 'a model is listed twice')
  if (model !== undefined) check(ids.includes(model), `${model} is not among them`)
}

/** Cases of what a runtime says of itself. */
export const accountCases: readonly SuiteCase[] = [
  { id: 'usage', shows: 'the tokens of a run are told', flag: 'cost', check: tellsUsage },
  { id: 'models', shows: 'its models are listed', check: listsModels },
]
