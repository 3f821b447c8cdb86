import { Button, UnstyledButton } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Money, Time } from '../../../../parts/figures.tsx'
import { plural } from '../../../../parts/format.ts'
import { Loading, ProblemLine } from '../../../../parts/page-state.tsx'
import { SafeText } from '../../../../parts/safe-text.tsx'
import { Section } from '../../../../parts/section.tsx'
import { promptText } from '../../../../session-log/tool-text.ts'
import type { View } from '../../../../session-log/view.ts'
import { callsQuery } from '../../queries.ts'
import type { Selection } from '../../selection.ts'
import css from './cost.module.css'
import { type CostStep, costSteps } from './cost-steps.ts'

interface Props {
  readonly sessionId: string
  readonly view: View
  readonly selection: Selection
}

/** What each prompt cost, in the order of time, with the sum so far. */
export function CostByPrompt({ sessionId, view, selection }: Props) {
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(
    callsQuery(sessionId),
  )
  const steps = useMemo(() => costSteps(data?.pages.flatMap(({ calls }) => calls) ?? []), [data])
  const prompts = useMemo(() => promptsOf(view.turns), [view.turns])
  const most = Math.max(...steps.map(({ costUsd }) => costUsd), 0)
  return (
    <Section title="Cost over time">
      {isPending ? <Loading lines={3} /> : steps.length === 0 && <p className="soft">No model call yet</p>}
      <ProblemLine error={error} />
      <ol className={css.steps}>
        {steps.map(step => (
          <Step
            key={step.key}
            step={step}
            most={most}
            prompt={prompts.get(step.promptId ?? '')}
            onSelect={selection.select}
          />
        ))}
      </ol>
      {hasNextPage && (
        <Button variant="default" size="compact-xs" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Load older model calls
        </Button>
      )}
    </Section>
  )
}

interface ShownPrompt {
  readonly eventId: string | undefined
  readonly text: string
}

const promptsOf = (turns: View['turns']): ReadonlyMap<string, ShownPrompt> =>
  new Map(
    turns.flatMap(({ prompt }) => {
      if (!prompt) return []
      return [[prompt.id, { eventId: prompt.eventId, text: promptText(prompt).slice(0, 200) }]]
    }),
  )

interface StepProps {
  readonly step: CostStep
  readonly most: number
  readonly prompt: ShownPrompt | undefined
  readonly onSelect: Selection['select']
}

function Step({ step, most, prompt, onSelect }: StepProps) {
  const { eventId } = prompt ?? {}
  const title = prompt?.text ?? (step.promptId === null ? 'Outside of prompts' : 'Earlier prompt')
  return (
    <li className={css.step}>
      {eventId === undefined ? (
        <span className="soft clip">{title}</span>
      ) : (
        <UnstyledButton className="clip" onClick={() => onSelect(eventId)}>
          <SafeText text={title} />
        </UnstyledButton>
      )}
      <span className={css.amount}>
        <Money usd={step.isUnknown ? null : step.costUsd} />
      </span>
      <span className={css.track} aria-hidden>
        <span className={css.bar} style={{ width: `${most === 0 ? 0 : (100 * step.costUsd) / most}%` }} />
      </span>
      <span className={`${css.amount} soft`} title="Sum so far">
        Σ <Money usd={step.sumUsd} />
      </span>
      <span className="soft">
        {plural(step.calls, 'call')} · <Time at={step.at} />
      </span>
    </li>
  )
}
