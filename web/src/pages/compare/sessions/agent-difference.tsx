import type { SessionSummary } from '../../../../../src/contract/session-summaries.ts'
import { shortId } from '../../../parts/format.ts'
import { SafeText } from '../../../parts/safe-text.tsx'
import { Section } from '../../../parts/section.tsx'
import { FieldChanges } from '../field-changes.tsx'

interface Props {
  readonly a: SessionSummary
  readonly b: SessionSummary
}

/** What the sessions run, and what differs between the versions of their agent. */
export function AgentDifference({ a, b }: Props) {
  const isSameAgent = a.agent_id !== '' && a.agent_id === b.agent_id
  const [from, to] = [a.agent_version, b.agent_version]
  return (
    <Section title="Agent and model">
      <p>
        A: <SafeText text={runsWith(a)} />
        <br />
        B: <SafeText text={runsWith(b)} />
      </p>
      {isSameAgent && from !== null && to !== null && from !== to && (
        <FieldChanges agentId={a.agent_id} from={from} to={to} />
      )}
      {!isSameAgent && <p className="soft">The sessions run different agents, whose fields are not compared</p>}
    </Section>
  )
}

function runsWith({ agent_id: id, agent_name: name, agent_version: version, model, runtime }: SessionSummary): string {
  const agent = id === '' ? 'no agent' : `${name ?? shortId(id)}${version === null ? '' : ` version ${version}`}`
  return `${agent} on ${model ?? 'an unknown model'} (${runtime})`
}
