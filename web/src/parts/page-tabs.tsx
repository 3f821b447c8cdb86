import { Link } from '@tanstack/react-router'
import css from './page-tabs.module.css'

interface Props<Value extends string> {
  /** Name of the tabs for screen readers: `Parts of webhooks`. */
  readonly label: string
  readonly tabs: readonly { readonly value: Value; readonly label: string }[]
  readonly value: Value
}

/** The parts of a page, one at a time. Each has its own address; a change of the part drops its filters. */
export function PageTabs<Value extends string>({ label, tabs, value }: Props<Value>) {
  return (
    <nav className={css.tabs} aria-label={label}>
      {tabs.map((tab, at) => (
        <Link
          key={tab.value}
          to="."
          search={at === 0 ? {} : { tab: tab.value }}
          className={css.tab ?? ''}
          aria-current={tab.value === value ? 'page' : undefined}
          data-selected={tab.value === value || undefined}
        >
          {tab.label}
        </Link>
      ))}
    </nav>
  )
}
