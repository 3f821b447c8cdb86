import type { Pool } from 'pg'
import type { Json } from '../platform/json.ts'

/** A key of LiteLLM with what it refers to. Rows are JSON, since columns differ between versions. */
export interface TokenRow {
  readonly token: string
  readonly key: Json
  readonly team: Json | null
  readonly user: Json | null
  readonly budget: Json | null
}

const pageRows = 500

const tokensText = `
  select k.token, to_jsonb(k) - 'token' as key, to_jsonb(t) as team, to_jsonb(u) - 'password' as user, to_jsonb(b) as budget
  from "LiteLLM_VerificationToken" k
  left join "LiteLLM_TeamTable" t on t.team_id = k.team_id
  left join "LiteLLM_UserTable" u on u.user_id = k.user_id
  left join "LiteLLM_BudgetTable" b on b.budget_id = k.budget_id
  where k.token > $1 order by k.token limit ${pageRows}`

/** Tables of LiteLLM's database. */
export type LiteLlmTables = ReturnType<typeof liteLlmTables>

export function liteLlmTables(pool: Pool) {
  return {
    /** Returns all keys. */
    async *tokens(): AsyncGenerator<TokenRow> {
      let last = ''
      for (;;) {
        const { rows } = await pool.query<TokenRow>(tokensText, [last])
        yield* rows
        if (rows.length < pageRows) return
        last = rows.at(-1)?.token ?? last
      }
    },

    /** Returns the names of models that LiteLLM stores in its database, where their parameters are encrypted. */
    async models(): Promise<string[]> {
      const text = 'select distinct model_name as name from "LiteLLM_ProxyModelTable" order by 1'
      return (await pool.query<{ name: string }>(text)).rows.map(({ name }) => name)
    },
  }
}
