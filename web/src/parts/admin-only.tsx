import type { ReactNode } from 'react'
import { useIsAdmin } from '../data/sign-in.tsx'
import { Page } from './page.tsx'
import { NoPermission } from './page-state.tsx'

interface Props {
  readonly title: string
  /** The missing right: `Only administrators manage keys`. */
  readonly right: string
  readonly children: ReactNode
}

/** A page for administrators. Other keys see which right they lack, and nothing is loaded. */
export function AdminOnly({ title, right, children }: Props) {
  if (useIsAdmin()) return children
  return (
    <Page title={title}>
      <NoPermission right={right} />
    </Page>
  )
}
