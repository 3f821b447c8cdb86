/** What became of one setting of LiteLLM. It contains no secret. */
export interface ImportFinding {
  /** Path in LiteLLM's file or table, such as `router_settings.num_retries`. */
  readonly setting: string
  readonly state: 'carried' | 'approximated' | 'unsupported'
  /** What it became, or how it differs. */
  readonly detail: string
  /** What to do; absent where nothing is to be done. */
  readonly next?: string
}

/** Collects what became of each setting. */
export interface ImportReport {
  carried(setting: string, detail: string): void
  approximated(setting: string, detail: string, next?: string): void
  unsupported(setting: string, detail: string, next: string): void
  readonly findings: readonly ImportFinding[]
}

export function createReport(): ImportReport {
  const findings: ImportFinding[] = []
  return {
    findings,
    carried: (setting, detail) => void findings.push({ setting, state: 'carried', detail }),
    approximated: (setting, detail, next) =>
      void findings.push({ setting, state: 'approximated', detail, ...(next !== undefined && { next }) }),
    unsupported: (setting, detail, next) => void findings.push({ setting, state: 'unsupported', detail, next }),
  }
}
