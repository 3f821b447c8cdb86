import { Page } from '../../parts/page.tsx'

export function MemoriesPage() {
  return <Page title="Memories">This page is being built.</Page>
}
