import { Page } from '../../parts/page.tsx'

export function BudgetsPage() {
  return <Page title="Budgets">This page is being built.</Page>
}
