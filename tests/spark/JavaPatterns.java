import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * Answers each line, a pattern and names in Base64, with one sign a name: found (1), not found (0); or with
 * "refused"; or with "broken" where Java itself stumbles.
 */
class JavaPatterns {
    public static void main(String[] arguments) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(answer(line.split(" ", -1)));
            System.out.flush();
        }
    }

    private static String answer(String[] given) {
        try {
            Pattern pattern = Pattern.compile(text(given[0]));
            var found = new StringBuilder("=");
            for (int index = 1; index < given.length; index++) {
                found.append(pattern.matcher(text(given[index])).find() ? '1' : '0');
            }
            return found.toString();
        } catch (PatternSyntaxException refusal) {
            return "refused";
        } catch (RuntimeException | StackOverflowError bug) {
            return "broken";
        }
    }

    private static String text(String base64) {
        return new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
    }
}
