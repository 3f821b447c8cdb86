import css from './approval-card.module.css'
import { Time } from './figures.tsx'
import { SafeText } from './safe-text.tsx'

const outcomes = { allowed: 'Approved', denied: 'Denied', expired: 'Expired', cancelled: 'Cancelled' } as const

interface DecisionProps {
  readonly state: keyof typeof outcomes
  readonly by: string | null | undefined
  readonly at: string | null | undefined
  readonly message: string | null | undefined
  readonly isEdited: boolean
}

/** How a call was answered, by whom and when. */
export function Decision({ state, by, at, message, isEdited }: DecisionProps) {
  return (
    <p className={css.decision}>
      <b>{outcomes[state]}</b>
      {isEdited && ' with changed arguments'}
      {by && (
        <>
          {' '}
          by <SafeText text={by} />
        </>
      )}
      {at && (
        <>
          {' · '}
          <Time at={at} />
        </>
      )}
      {message && (
        <>
          {': '}
          <SafeText text={message} />
        </>
      )}
    </p>
  )
}
