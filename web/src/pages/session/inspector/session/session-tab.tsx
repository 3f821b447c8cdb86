import { useQuery } from '@tanstack/react-query'
import { Loading, ProblemBlock } from '../../../../parts/page-state.tsx'
import { Section } from '../../../../parts/section.tsx'
import { sessionQuery } from '../../queries.ts'
import css from '../inspector.module.css'
import type { InspectorProps } from '../inspector-props.ts'
import { detailsQuery } from '../queries.ts'
import { CostByPrompt } from './cost-by-prompt.tsx'
import { SessionBudget } from './session-budget.tsx'
import { EnvironmentFields, OriginFacts, ProviderFacts, SessionFacts } from './session-facts.tsx'

/** What the session is, where it runs, what it costs. */
export function SessionTab({ sessionId, view, selection }: InspectorProps) {
  const summary = useQuery(sessionQuery(sessionId))
  const details = useQuery(detailsQuery(sessionId))
  return (
    <div className={css.scroller}>
      {summary.data && (
        <>
          <Section title="Session">
            <SessionFacts session={summary.data} />
          </Section>
          <Section title="Budget">
            <SessionBudget session={summary.data} />
          </Section>
        </>
      )}
      <CostByPrompt sessionId={sessionId} view={view} selection={selection} />
      {details.data ? (
        <>
          <Section title="Runtime">
            <ProviderFacts session={details.data} />
          </Section>
          <OriginFacts session={details.data} />
          <EnvironmentFields session={details.data} />
        </>
      ) : details.error ? (
        <ProblemBlock
          error={details.error}
          what="load the fields of the session"
          retry={() => void details.refetch()}
        />
      ) : (
        <Loading />
      )}
    </div>
  )
}
