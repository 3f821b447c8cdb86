import { Tooltip } from '@mantine/core'
import type { ReactNode } from 'react'
import type { UsageFigures } from '../../../../src/contract/usage.ts'
import { count, duration, exactCount, money, plural } from '../../parts/format.ts'
import css from './charts.module.css'
import { allInput, cacheWrites, errors, exactDollars, percent } from './figures.ts'

interface TileProps {
  readonly name: string
  readonly value: ReactNode
  readonly detail?: ReactNode
  /** The exact value, on hover and focus. */
  readonly exact?: string
}

/** A figure with its name. */
export function Tile({ name, value, detail, exact }: TileProps) {
  return (
    <div className={css.tile}>
      <dt>{name}</dt>
      <dd className="numbers">
        {exact === undefined ? (
          value
        ) : (
          <Tooltip label={exact}>
            <span tabIndex={0}>{value}</span>
          </Tooltip>
        )}
        {detail && <small>{detail}</small>}
      </dd>
    </div>
  )
}

export const milliseconds = (value: number | null): string => (value === null ? 'none' : duration(value))

/** Totals of the range. They are those of the ledger, also when charts leave groups out. */
export function Tiles({ totals }: { readonly totals: UsageFigures }) {
  const { requests, unpriced_requests: unpriced, cached_requests: cached, aborted_requests: aborted } = totals
  const { first_content_ms: first } = totals
  return (
    <dl className={css.tiles}>
      <Tile
        name="Cost"
        value={money(totals.cost_usd)}
        exact={exactDollars(totals.cost_usd)}
        detail={unpriced > 0 && `and ${plural(unpriced, 'call')} without a price`}
      />
      <Tile
        name="Requests"
        value={count(requests)}
        exact={exactCount(requests)}
        detail={totals.estimated_requests > 0 && `${count(totals.estimated_requests)} with estimated tokens`}
      />
      <Tile
        name="Input tokens"
        value={count(totals.input_tokens)}
        exact={exactCount(totals.input_tokens)}
        detail="not cached"
      />
      <Tile
        name="Output tokens"
        value={count(totals.output_tokens)}
        exact={exactCount(totals.output_tokens)}
        detail={totals.reasoning_tokens > 0 && `${count(totals.reasoning_tokens)} for reasoning`}
      />
      <Tile
        name="Cache read"
        value={count(totals.cache_read_tokens)}
        exact={exactCount(totals.cache_read_tokens)}
        detail="tokens"
      />
      <Tile
        name="Cache write"
        value={count(cacheWrites(totals))}
        exact={exactCount(cacheWrites(totals))}
        detail="tokens"
      />
      <Tile
        name="Errors"
        value={count(errors(totals))}
        detail={`${percent(errors(totals), requests)} of requests${aborted > 0 ? `, ${count(aborted)} aborted` : ''}`}
      />
      <Tile name="First token, p50" value={milliseconds(first.p50)} />
      <Tile name="First token, p95" value={milliseconds(first.p95)} />
      <Tile
        name="Cache hits"
        value={percent(totals.cache_read_tokens, allInput(totals))}
        detail={cached > 0 ? `of input; ${plural(cached, 'answer')} from the response cache` : 'of input tokens'}
      />
    </dl>
  )
}
