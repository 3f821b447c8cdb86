import { endsRun, type SessionEvent, textOfContent } from '../src/contract/events.ts'

interface Expected {
  /** Texts of the prompts in the order in which they were accepted. */
  readonly prompts: readonly string[]
  /** The log as the list gives it. */
  readonly log: readonly SessionEvent[]
  /** The events as an open stream brought them. */
  readonly streamed: readonly SessionEvent[]
}

/** What is lost, doubled or out of order in the log of a session; empty when nothing is. */
export function faultsOf({ prompts, log, streamed }: Expected): string[] {
  const faults: string[] = []
  const gap = log.findIndex(({ seq }, at) => seq !== at + 1)
  if (gap >= 0) faults.push(`event ${gap + 1} is missing`)
  if (JSON.stringify(streamed) !== JSON.stringify(log)) faults.push('the stream differs from the list')
  const asked = log.filter(({ type }) => type === 'user.message')
  if (asked.map(textOf).join('\n') !== prompts.join('\n'))
    faults.push('the prompts are not in the order of their acceptance')
  const ids = asked.map(event => event.prompt_id)
  const ran = log.filter(({ type }) => type === 'session.status_running').map(event => event.prompt_id)
  if (ran.join() !== ids.join()) faults.push('the prompts did not run once each, in order')
  const ended = log.filter(event => endsRun(event))
  if (ended.map(event => event.prompt_id).join() !== ids.join()) faults.push('not every prompt has exactly one outcome')
  if (ended.some(({ type }) => type !== 'session.status_idle')) faults.push('a prompt failed')
  return [...faults, ...faultsOfRuns(log)]
}

/** A run begins only when none is open, and each tool call has one result. */
function faultsOfRuns(log: readonly SessionEvent[]): string[] {
  const faults: string[] = []
  let open = 0
  for (const event of log) {
    if (event.type === 'session.status_running' && open++ > 0) faults.push('two runs at once')
    if (endsRun(event) && --open < 0) faults.push('a run ended twice')
  }
  const idsOf = (type: 'agent.tool_use' | 'agent.tool_result') =>
    log.flatMap(event => (event.type === type ? [event.tool_use_id] : []))
  const uses = idsOf('agent.tool_use')
  const results = idsOf('agent.tool_result')
  if (uses.toSorted().join() !== results.toSorted().join()) faults.push('not every tool call has exactly one result')
  return faults
}

const textOf = (event: SessionEvent): string => textOfContent(event.content)
