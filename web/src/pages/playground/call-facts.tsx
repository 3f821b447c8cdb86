import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { UsageCall } from '../../../../src/contract/usage.ts'
import { Id } from '../../parts/copy.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Money } from '../../parts/figures.tsx'
import { count, duration } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import css from './playground.module.css'
import { callQuery } from './queries.ts'
import type { Run } from './use-runs.ts'

/** Figures of an ended call, from the ledger once it has them, and what its headers said. */
export function CallFacts({ run }: { readonly run: Run }) {
  const { headers, answer } = run
  const requestId = headers?.requestId
  const { data, isFetching, refetch } = useQuery({ ...callQuery(requestId ?? ''), enabled: requestId !== undefined })
  const call = data ?? undefined
  const first = call ? call.first_content_ms : run.firstMs
  const total = call?.total_ms ?? run.totalMs
  const stopReason = answer.stopReason ?? call?.stop_reason
  const deployment = headers?.deployment ?? call?.deployment
  const attempts = headers?.attempts ?? call?.attempts
  return (
    <div className={css.facts}>
      <Facts
        of={[
          ['First token', typeof first === 'number' && <span className="numbers">{duration(first)}</span>],
          ['Total', total !== undefined && <span className="numbers">{duration(total)}</span>],
          ['Tokens', <Tokens key="tokens" run={run} call={call} />],
          [
            'Cost',
            requestId !== undefined && (
              <Cost key="cost" call={call} isPending={isFetching} retry={() => void refetch()} />
            ),
          ],
          ['Stop reason', typeof stopReason === 'string' && <SafeText text={stopReason} />],
          ['Deployment', deployment !== undefined && deployment !== '' && <SafeText text={deployment} />],
          ['Attempts', attempts !== undefined && <span className="numbers">{attempts}</span>],
          ['Request', requestId !== undefined && <Id id={requestId} what="request id" />],
        ]}
      />
      <Warnings run={run} />
    </div>
  )
}

function Tokens({ run: { answer }, call }: { readonly run: Run; readonly call: UsageCall | undefined }) {
  const used = call
    ? {
        input: call.input_tokens + call.cache_write_5m_tokens + call.cache_write_1h_tokens,
        output: call.output_tokens,
        cached: call.cache_read_tokens,
      }
    : answer.usage
  if (!used) return <span className="soft">unknown</span>
  return (
    <span className="numbers">
      {count(used.input)} in, {count(used.output)} out, {count(used.cached)} cached
      {call && call.reasoning_tokens > 0 && `, ${count(call.reasoning_tokens)} of the output for reasoning`}
      {call?.estimated && <span className="soft"> (estimated)</span>}
    </span>
  )
}

interface CostProps {
  readonly call: UsageCall | undefined
  readonly isPending: boolean
  readonly retry: () => void
}

function Cost({ call, isPending, retry }: CostProps) {
  if (call) return <Money usd={call.cost_usd} />
  if (isPending) return <span className="soft">waiting for the ledger</span>
  return (
    <>
      <span className="soft">not in the ledger</span>{' '}
      <Button variant="subtle" size="compact-xs" onClick={retry}>
        Check again
      </Button>
    </>
  )
}

/** What differs from the request that was made. */
function Warnings({ run: { headers } }: { readonly run: Run }) {
  if (!headers) return null
  const { degraded, cache, budgetWarning, hook } = headers
  const lines: readonly (readonly [name: string, text: ReactNode])[] = [
    ...degraded.map(each => [each, <Degraded key={each} text={each} />] as const),
    ...(cache === 'hit' ? [['cache', 'The response cache answered; no provider was called.'] as const] : []),
    ...(budgetWarning === undefined
      ? []
      : [['budget', <SafeText key="b" text={`Budget: ${budgetWarning}`} />] as const]),
    ...(hook === undefined ? [] : [['hook', <SafeText key="h" text={`Hook: ${hook}`} />] as const]),
  ]
  if (lines.length === 0) return null
  return (
    <ul className={css.warnings} aria-label="Warnings">
      {lines.map(([name, text]) => (
        <li key={name}>{text}</li>
      ))}
    </ul>
  )
}

/** `top_k=dropped`: the translation to the format of the provider could not carry over a field. */
function Degraded({ text }: { readonly text: string }) {
  const at = text.lastIndexOf('=')
  return (
    <>
      <code>
        <SafeText text={at < 0 ? text : text.slice(0, at)} />
      </code>{' '}
      <SafeText text={at < 0 ? 'approximated' : text.slice(at + 1).replaceAll('_', ' ')} />
    </>
  )
}
