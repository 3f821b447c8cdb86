import { useQuery } from '@tanstack/react-query'
import { DiffView } from '../../parts/diff-view.tsx'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { agentDiffQuery } from './queries.ts'

interface Props {
  readonly agentId: string
  readonly from: number
  readonly to: number
}

const textOfValue = (value: unknown): string => {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value, null, 2)
}

/** The fields of an agent that differ between two of its versions. */
export function FieldChanges({ agentId, from, to }: Props) {
  const { data, error, refetch } = useQuery(agentDiffQuery(agentId, from, to))
  if (error) return <ProblemBlock error={error} what="compare the versions" retry={() => void refetch()} />
  if (!data) return <Loading lines={3} />
  if (data.changes.length === 0) return <p className="soft">No field differs between the versions</p>
  return data.changes.map(({ field, before, after }) => (
    <section key={field} aria-label={field}>
      <p className="mono">{field}</p>
      <DiffView before={textOfValue(before)} after={textOfValue(after)} label={`Changes of ${field}`} />
    </section>
  ))
}
