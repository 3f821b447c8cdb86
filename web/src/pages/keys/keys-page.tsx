import { Page } from '../../parts/page.tsx'

export function KeysPage() {
  return <Page title="Keys">This page is being built.</Page>
}
