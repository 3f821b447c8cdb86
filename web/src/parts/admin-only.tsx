import type { ReactNode } from 'react'
import { useMe } from '../data/sign-in.tsx'
import { Page } from './page.tsx'
import { NoPermission } from './page-state.tsx'

interface Props {
  readonly title: string
  /** The missing right: `Only administrators manage keys`. */
  readonly right: string
  /** True: also not for an administrator who acts as an owner or a team. */
  readonly isForWholeService?: true
  readonly children: ReactNode
}

/** A page for administrators. Other keys see which right they lack, and nothing is loaded. */
export function AdminOnly({ title, right, isForWholeService, children }: Props) {
  const { role, owner_id } = useMe()
  if (role === 'admin' && !(isForWholeService && owner_id !== null)) return children
  return (
    <Page title={title}>
      <NoPermission right={right} />
    </Page>
  )
}
