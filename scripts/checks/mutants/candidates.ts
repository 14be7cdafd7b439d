// Finds the possible mutants at a node: changes to an operator, a condition, a number, a call or an `await`.

import { type Node, type SourceFile, SyntaxKind } from "typescript/unstable/ast";
import {
  isAwaitExpression,
  isBinaryExpression,
  isCallExpression,
  isConditionalExpression,
  isExpressionStatement,
  isIfStatement,
  isNumericLiteral,
  isPrefixUnaryExpression,
  isWhileStatement,
} from "typescript/unstable/ast/is";

/** Replaces the text from `start` up to `end`. */
interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly becomes: string;
}

/** What each operator becomes. Empty removes it and its right side. */
const operators: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "&&": "||",
  "||": "&&",
  "??": "",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "+=": "-=",
  "-=": "+=",
};

export function candidatesAt(node: Node, source: SourceFile): Replacement[] {
  const start = (at: Node) => at.getStart(source);
  const text = (at: Node) => source.text.slice(start(at), at.end);
  const replaced = (at: Node, becomes: string): Replacement[] => [{ start: start(at), end: at.end, becomes }];
  if (isBinaryExpression(node)) {
    const becomes = operators[text(node.operatorToken)];
    if (becomes === undefined) return [];
    return becomes === "" ? replaced(node, text(node.left)) : replaced(node.operatorToken, becomes);
  }
  if (isPrefixUnaryExpression(node)) return /^[!-]/.test(text(node)) ? replaced(node, text(node.operand)) : [];
  // Larger numbers are sizes or times, and no test should depend on their last digit.
  if (isNumericLiteral(node)) return Number(text(node)) < 10 ? replaced(node, `(${text(node)} + 1)`) : [];
  if (node.kind === SyntaxKind.TrueKeyword) return replaced(node, "false");
  if (node.kind === SyntaxKind.FalseKeyword) return replaced(node, "true");
  if (isIfStatement(node)) return replaced(node.expression, `!(${text(node.expression)})`);
  if (isWhileStatement(node))
    return [
      {
        start: start(node),
        end: start(node.expression),
        becomes: `${source.text.slice(start(node), start(node.expression)).replace("while", "if")}`,
      },
    ];
  if (isConditionalExpression(node)) return replaced(node.condition, `!(${text(node.condition)})`);
  if (isExpressionStatement(node)) return statementCandidates(node.expression, node);
  return [];

  /** Removes the statement's call, or its `await`. */
  function statementCandidates(expression: Node, statement: Node): Replacement[] {
    if (isAwaitExpression(expression))
      return [...replaced(statement, ";"), ...replaced(expression, `void ${text(expression.expression)}`)];
    return isCallExpression(expression) ? replaced(statement, ";") : [];
  }
}
