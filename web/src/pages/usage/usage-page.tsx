import { Page } from '../../parts/page.tsx'

export function UsagePage() {
  return <Page title="Usage">This page is being built.</Page>
}
