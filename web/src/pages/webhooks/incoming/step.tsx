import { Stack, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import css from '../webhooks.module.css'

interface Props {
  readonly number: number
  readonly title: string
  readonly isOptional?: boolean
  readonly children: ReactNode
}

/** One step of the set-up. */
export function Step({ number, title, isOptional = false, children }: Props) {
  return (
    <section className={css.step} aria-label={title}>
      <Title order={2} mb="sm">
        <span className={css.number}>{number}</span> {title}{' '}
        {isOptional && <span className={css.optional}>optional</span>}
      </Title>
      <Stack gap="sm">{children}</Stack>
    </section>
  )
}
