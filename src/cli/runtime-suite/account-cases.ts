import type { SuiteCase } from './case.ts'
import { check, NotShown } from './check.ts'
import type { SuiteContext } from './context.ts'
import { completedRun } from './run-cases.ts'

/** Sums the tokens of all kinds in a usage. */
const tokensIn = (usage: object | null | undefined): number =>
  Object.entries(usage ?? {})
    .filter(([name]) => name.endsWith('_tokens'))
    .reduce((sum, [, count]) => sum + Number(count), 0)

async function reportsUsage({ newSession, prompts }: SuiteContext): Promise<void> {
  const log = await completedRun(await newSession(), prompts.plain)
  const counts = log.flatMap(event => {
    if (event.type === 'session.usage') return [tokensIn(event.usage)]
    return event.type === 'span.model_request_end' ? [tokensIn(event.model_usage)] : []
  })
  check(counts.length > 0, 'the log has neither session.usage nor span.model_request_end')
  const tokens = Math.max(...counts)
  check(tokens > 0, 'usage has no tokens')
}

async function listsModels({ client, runtime, model }: SuiteContext): Promise<void> {
  const { models } = await client.agentRuntimes.models({ params: { runtime_id: runtime } })
  if (models.length === 0) throw new NotShown('runtime does not list its models')
  const ids = models.map(({ id }) => id)
  check(new Set(ids).size === ids.length, 'a model is listed twice')
  if (model !== undefined) check(ids.includes(model), `${model} is not in the list`)
}

/** Cases of usage and models. */
export const accountCases: readonly SuiteCase[] = [
  { id: 'usage', shows: 'a run reports its tokens', flag: 'cost', check: reportsUsage },
  { id: 'models', shows: 'its models are listed', check: listsModels },
]
