import { UnstyledButton } from '@mantine/core'
import type { ContextCompaction } from '../../../../../../src/contract/contexts.ts'
import { Time } from '../../../../parts/figures.tsx'
import { count } from '../../../../parts/format.ts'
import inspector from '../inspector.module.css'

interface Props {
  readonly compactions: readonly ContextCompaction[]
  readonly onSelect: (eventId: string) => void
}

const tokensOf = (tokens: number | null): string => (tokens === null ? 'unknown' : count(tokens))

const reasons = { auto: 'window nearly full', request: 'requested' } as const

/** The summaries that replaced the start of the conversation, with its tokens before and after. */
export function Compactions({ compactions, onSelect }: Props) {
  if (compactions.length === 0) return <p className="soft">The conversation was not compacted</p>
  return (
    <table className={inspector.table}>
      <thead>
        <tr>
          <th>When</th>
          <th>Why</th>
          <th className={inspector.end}>Tokens before</th>
          <th className={inspector.end}>After</th>
        </tr>
      </thead>
      <tbody>
        {compactions.map(({ event_id: id, seq, at, reason, tokens_before: before, tokens_after: after }) => (
          <tr key={id}>
            <td>
              <UnstyledButton
                fz="inherit"
                className={inspector.jump}
                aria-label={`Show event ${seq}`}
                onClick={() => onSelect(id)}
              >
                <Time at={at} />
              </UnstyledButton>
            </td>
            <td>{reason === null ? 'unknown' : reasons[reason]}</td>
            <td className={`${inspector.end} numbers`}>{tokensOf(before)}</td>
            <td className={`${inspector.end} numbers`}>{tokensOf(after)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
