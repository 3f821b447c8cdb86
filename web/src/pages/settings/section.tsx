import { Title } from '@mantine/core'
import type { ReactNode } from 'react'
import css from './section.module.css'

interface Props {
  readonly title: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A group of settings with its heading. */
export function Section({ title, actions, children }: Props) {
  return (
    <section className={css.section} aria-label={title}>
      <header className={css.heading}>
        <Title order={2}>{title}</Title>
        {actions && <div className={css.actions}>{actions}</div>}
      </header>
      <div className={css.body}>{children}</div>
    </section>
  )
}
