import { useQuery } from '@tanstack/react-query'
import type { Experiment, ExperimentComparison } from '../../../../src/contract/experiments.ts'
import { useAgentNames } from '../../data/names.ts'
import { DiffView } from '../../parts/diff-view.tsx'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { Section } from '../../parts/section.tsx'
import { TextLink } from '../../parts/text-link.tsx'
import { CaseChanges } from './case-changes.tsx'
import { comparedFigures } from './compared-figures.ts'
import css from './evaluations.module.css'
import { comparisonQuery } from './queries.ts'
import { subjectOf } from './states.ts'

interface Props {
  readonly experimentId: string
  readonly baseId: string
}

/** An experiment beside an earlier one: totals, what changed in the agent, and which cases got worse or better. */
export function Comparison({ experimentId, baseId }: Props) {
  const { data, error, refetch } = useQuery(comparisonQuery(experimentId, baseId))
  if (!data) {
    return error ? (
      <ProblemBlock error={error} what="compare the experiments" retry={() => void refetch()} />
    ) : (
      <Loading />
    )
  }
  return (
    <>
      <Section title={verdictOf(data)}>
        <Sides comparison={data} />
        <FigureBars comparison={data} />
      </Section>
      <Section title="Cases">
        <CaseChanges cases={data.cases} />
      </Section>
      <AgentChanges changes={data.agent_changes} />
    </>
  )
}

/** The outcome in words. */
function verdictOf({ totals: { worse, better, same } }: ExperimentComparison): string {
  const parts = [worse > 0 && `${worse} worse`, better > 0 && `${better} better`, same > 0 && `${same} the same`]
  return parts.filter(Boolean).join(', ') || 'No case in common'
}

function Sides({ comparison: { base, other } }: { readonly comparison: ExperimentComparison }) {
  const names = useAgentNames()
  const side = (word: string, experiment: Experiment, series: string) => (
    <li>
      <span className={css.swatch} style={{ background: series }} aria-hidden />
      <span className="soft">{word}</span>
      <TextLink to="/console/evaluations/$experimentId" params={{ experimentId: experiment.id }} search={{}}>
        <SafeText text={experiment.name} />
      </TextLink>
      <SafeText text={subjectOf(experiment, names)} />
    </li>
  )
  return (
    <ul className={css.sides}>
      {side('before', base, 'var(--series-other)')}
      {side('now', other, 'var(--accent)')}
    </ul>
  )
}

/** Two bars a figure, with the difference. */
function FigureBars({ comparison }: { readonly comparison: ExperimentComparison }) {
  return (
    <table className={css.bars} aria-label="Totals of both experiments">
      <thead className="visually-hidden">
        <tr>
          <th scope="col">Figure</th>
          <th scope="col">Before</th>
          <th scope="col">Now</th>
          <th scope="col">Difference</th>
        </tr>
      </thead>
      <tbody>
        {comparedFigures(comparison).map(({ name, before, now, difference, share }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td className={css.pairOfBars}>
              <span style={{ width: `${share.before * 100}%` }} data-side="before" />
              <span style={{ width: `${share.now * 100}%` }} data-side="now" />
            </td>
            <td className="numbers">
              <span className="soft">{before}</span> → {now}
            </td>
            <td className="numbers">{difference}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const textOfValue = (value: unknown): string => {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value, null, 2)
}

function AgentChanges({ changes }: { readonly changes: ExperimentComparison['agent_changes'] }) {
  if (changes === null) return null
  return (
    <Section title="What changed in the agent">
      {changes.length === 0 && <p className="soft">Both experiments ran the same version</p>}
      {changes.map(({ field, before, after }) => (
        <section key={field} aria-label={field}>
          <p className="mono">{field}</p>
          <DiffView before={textOfValue(before)} after={textOfValue(after)} label={`Changes of ${field}`} />
        </section>
      ))}
    </Section>
  )
}
