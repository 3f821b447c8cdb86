import { Title } from '@mantine/core'
import type { ReactNode } from 'react'
import css from './compare.module.css'

interface Props {
  readonly title: string
  readonly beside?: ReactNode
  readonly children: ReactNode
}

/** A titled part of the comparison. */
export function Section({ title, beside, children }: Props) {
  return (
    <section className={css.section} aria-label={title}>
      <div className={css.sectionHead}>
        <Title order={2}>{title}</Title>
        {beside}
      </div>
      {children}
    </section>
  )
}
