import { Page } from '../../parts/page.tsx'

export function VaultPage() {
  return <Page title="Vault">This page is being built.</Page>
}
