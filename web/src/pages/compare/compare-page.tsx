import { Page } from '../../parts/page.tsx'

export function ComparePage() {
  return <Page title="Compare">This page is being built.</Page>
}
