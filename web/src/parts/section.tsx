import { Title } from '@mantine/core'
import type { ReactNode } from 'react'
import css from './section.module.css'

interface Props {
  readonly title: string
  /** At the right of the title. */
  readonly actions?: ReactNode
  /** True draws a border around the part. */
  readonly isBoxed?: boolean
  readonly children: ReactNode
}

/** A titled part of a page or of a tab. */
export function Section({ title, actions, isBoxed = false, children }: Props) {
  return (
    <section className={isBoxed ? css.boxed : css.section} aria-label={title}>
      <div className={css.head}>
        <Title order={2}>{title}</Title>
        {actions && <div className={css.actions}>{actions}</div>}
      </div>
      <div className={css.body}>{children}</div>
    </section>
  )
}
