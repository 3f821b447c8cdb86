import { Fragment, type ReactNode } from 'react'
import css from './facts.module.css'

interface Props {
  /** Name and value of each fact; those without a value, or with `false`, are left out. */
  readonly of: readonly (readonly [name: string, value: ReactNode])[]
}

/** Fields of an object with their names. */
export function Facts({ of }: Props) {
  return (
    <dl className={css.facts}>
      {of
        .filter(([, value]) => value !== undefined && value !== null && value !== false)
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  )
}
