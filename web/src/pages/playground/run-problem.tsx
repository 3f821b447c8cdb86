import { Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { problemOf } from '../../data/problem.ts'
import { InlineCode } from '../../parts/inline-code.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import css from './playground.module.css'
import type { Run } from './use-runs.ts'
import { AnswerTruncated } from './wire/call-model.ts'

/** Why a call failed: message, cause and next step. */
export function RunProblem({ run: { error, headers } }: { readonly run: Run }) {
  const { message, cause, nextStep } = problemOf(error)
  const isTruncated = error instanceof AnswerTruncated
  return (
    <div className={css.problem} role="alert">
      <IconAlertTriangle size={16} aria-hidden />
      <div>
        <Text size="sm" className={css.message ?? ''}>
          {headers?.isFromUpstream && 'The provider answered: '}
          <SafeText text={message} />
        </Text>
        <Text size="sm" c="dimmed">
          {isTruncated ? 'The connection to the service or the provider broke.' : cause}{' '}
          <InlineCode text={isTruncated ? 'Send the request again.' : nextStep} />
        </Text>
      </div>
    </div>
  )
}
