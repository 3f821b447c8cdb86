import { Stack, Text, Title } from '@mantine/core'
import type { ExperimentCase } from '../../../../src/contract/experiments.ts'
import type { Grade } from '../../../../src/contract/graders.ts'
import { CodeBlock } from '../../parts/code.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Money } from '../../parts/figures.tsx'
import { count, duration } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { TextLink } from '../../parts/text-link.tsx'
import css from './evaluations.module.css'
import { caseState } from './states.ts'

interface Props {
  readonly result: ExperimentCase
  readonly onClose: () => void
}

/** One result: what each grader said, the answer, and the session. */
export function CasePanel({ result, onClose }: Props) {
  const { name, error, grades, answer, session_id, diverged } = result
  return (
    <SidePanel title={name} onClose={onClose}>
      <Stack gap="md">
        <StatePill {...caseState(result)} />
        {error && (
          <Text size="sm" className={css.reason}>
            <SafeText text={error.message} />
          </Text>
        )}
        {diverged && <Text size="sm">A call of this replay has no recorded result: the session went another way.</Text>}
        <CaseFacts result={result} />
        {grades.length > 0 && (
          <div>
            <Title order={3} mb="xs">
              Graders
            </Title>
            <ul className={css.grades}>
              {grades.map((grade, at) => (
                // Graders have no id, and their order never changes.
                // biome-ignore lint/suspicious/noArrayIndexKey: see above
                <GradeLine key={at} grade={grade} />
              ))}
            </ul>
          </div>
        )}
        {answer !== null && answer !== '' && (
          <div>
            <Title order={3} mb="xs">
              Answer
            </Title>
            <CodeBlock text={answer} what="answer" maxLines={30} />
          </div>
        )}
        {session_id !== null && (
          <TextLink to="/console/sessions/$sessionId" params={{ sessionId: session_id }} search={{}}>
            Open the session
          </TextLink>
        )}
      </Stack>
    </SidePanel>
  )
}

function CaseFacts({ result }: { readonly result: ExperimentCase }) {
  const { score, cost_usd, unpriced_calls, input_tokens, output_tokens, duration_ms, ended_at } = result
  return (
    <Facts
      of={[
        ['Score', score !== null && <span className="numbers">{score.toFixed(2)}</span>],
        ['Cost', ended_at !== null && <Money usd={cost_usd} />],
        ['Calls without a price', unpriced_calls > 0 && count(unpriced_calls)],
        ['Tokens', ended_at !== null && `${count(input_tokens)} in, ${count(output_tokens)} out`],
        ['Time', duration_ms !== null && duration(duration_ms)],
      ]}
    />
  )
}

function GradeLine({ grade: { grader, type, passed, score, reason } }: { readonly grade: Grade }) {
  return (
    <li className={css.grade}>
      <div className={css.gradeLine}>
        <StatePill state={passed ? 'done' : 'failed'} word={passed ? 'passed' : 'failed'} />
        <SafeText text={grader} />
        {type === 'judge' && <span className="numbers soft">{score.toFixed(2)}</span>}
      </div>
      {reason !== '' && (
        <div className={css.reason}>
          <SafeText text={reason} />
        </div>
      )}
    </li>
  )
}
