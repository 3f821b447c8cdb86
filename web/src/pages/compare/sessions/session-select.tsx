import { Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { SessionSummary } from '../../../../../src/contract/session-summaries.ts'
import { shortId } from '../../../parts/format.ts'
import { plainText } from '../../../parts/safe-text.tsx'
import { sessionChoicesQuery, summaryQuery } from '../queries.ts'

interface Props {
  readonly label: string
  readonly value: string | undefined
  readonly onChange: (sessionId: string | undefined) => void
}

/** A field that chooses a session by a part of its title, or by its id. */
export function SessionSelect({ label, value, onChange }: Props) {
  const [text, setText] = useState('')
  const chosen = useQuery({ ...summaryQuery(value ?? ''), enabled: value !== undefined }).data
  // The field holds the chosen title, which is no search.
  const [wanted] = useDebouncedValue(chosen && text === titleOf(chosen) ? '' : text, 250)
  const { data } = useQuery(sessionChoicesQuery(wanted))
  const sessions = [...(chosen ? [chosen] : []), ...(data?.sessions ?? []).filter(({ id }) => id !== value)]
  return (
    <div>
      <Select
        label={label}
        description={
          value === undefined ? (
            'Part of the title, or the id'
          ) : (
            <Link to="/console/sessions/$sessionId" params={{ sessionId: value }}>
              Open session
            </Link>
          )
        }
        placeholder="Choose a session"
        data={sessions.map(session => ({ value: session.id, label: titleOf(session) }))}
        value={chosen ? chosen.id : null}
        onChange={next => onChange(next ?? undefined)}
        searchValue={text}
        onSearchChange={setText}
        // The service has searched.
        filter={({ options }) => options}
        searchable
        clearable
        nothingFoundMessage="No session has this title"
      />
    </div>
  )
}

const titleOf = ({ title, id, agent_name: agent, agent_version: version }: SessionSummary): string => {
  const by = agent === null ? '' : ` · ${agent}${version === null ? '' : ` version ${version}`}`
  return plainText(`${title === '' ? 'Untitled' : title}${by} · ${shortId(id)}`)
}
