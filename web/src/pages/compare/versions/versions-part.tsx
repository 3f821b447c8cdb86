import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useAddress } from '../../../parts/address.ts'
import { Empty, ProblemLine } from '../../../parts/page-state.tsx'
import { plainText } from '../../../parts/safe-text.tsx'
import { Section } from '../../../parts/section.tsx'
import css from '../compare.module.css'
import { FieldChanges } from '../field-changes.tsx'
import { agentsQuery, versionsQuery } from '../queries.ts'
import { versionLabel } from '../version-label.ts'
import { VersionFigures } from './version-figures.tsx'

const versionOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined

/** Chooses two versions of an agent and compares their fields and what they cost. */
export function VersionsPart() {
  const [{ agent, a, b }, setAddress] = useAddress<'agent' | 'a' | 'b'>()
  const agents = useQuery(agentsQuery)
  const versions = useQuery({ ...versionsQuery(agent ?? ''), enabled: agent !== undefined })
  const [from, to] = [versionOf(a), versionOf(b)]
  const choices = (versions.data?.versions ?? []).map(({ version, note }) => ({
    value: String(version),
    label: versionLabel(version, note),
  }))
  const field = (name: 'a' | 'b', value: number | undefined) => (
    <Select
      label={`Version ${name.toUpperCase()}`}
      placeholder="Choose a version"
      data={choices}
      value={value === undefined ? null : String(value)}
      onChange={next => setAddress({ [name]: next ?? undefined })}
      disabled={agent === undefined}
      searchable
    />
  )
  return (
    <>
      <div className={css.choices}>
        <Select
          label="Agent"
          placeholder="Choose an agent"
          data={(agents.data ?? []).map(({ id, name }) => ({ value: id, label: plainText(name) }))}
          value={agent ?? null}
          onChange={next => setAddress({ agent: next ?? undefined, a: undefined, b: undefined })}
          searchable
        />
        {field('a', from)}
        {field('b', to)}
      </div>
      <ProblemLine error={agents.error ?? versions.error} />
      {agent === undefined || from === undefined || to === undefined ? (
        <Empty title="Choose an agent and two versions" link={<a href="/docs">API reference</a>}>
          See which fields differ, and what the calls of each version took.
        </Empty>
      ) : (
        <>
          <VersionFigures agentId={agent} from={from} to={to} />
          <Section title="Fields">
            <FieldChanges agentId={agent} from={from} to={to} />
          </Section>
        </>
      )}
    </>
  )
}
