import { Page } from '../../parts/page.tsx'

export function SkillsPage() {
  return <Page title="Skills">This page is being built.</Page>
}
