import { Title } from '@mantine/core'
import type { ReactNode } from 'react'
import css from './overview.module.css'

interface Props {
  readonly title: string
  readonly beside?: ReactNode
  /** Shown when there are no rows. */
  readonly quiet?: string | undefined
  readonly children?: ReactNode
}

/** One question of the overview with its answer. */
export function Card({ title, beside, quiet, children }: Props) {
  return (
    <section className={css.card} aria-label={title}>
      <div className={css.heading}>
        <Title order={2}>{title}</Title>
        {beside}
      </div>
      {quiet === undefined ? children : <div className={css.quiet}>{quiet}</div>}
    </section>
  )
}
