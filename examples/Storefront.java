// Lists, creates, updates and deletes order statuses. Usage: java Storefront.java <address> <API key>

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;

public class Storefront {
    private final HttpClient http = HttpClient.newHttpClient();
    private final String address;
    private final String key;

    Storefront(String address, String key) {
        this.address = address;
        this.key = key;
    }

    public static void main(String[] arguments) throws Exception {
        var storefront = new Storefront(arguments[0], arguments[1]);

        var statuses = storefront.call("GET", "orderstatuses.json", null);
        System.out.println("listed " + Pattern.compile("\"ID\":").matcher(statuses).results().count() + " order statuses");

        var created = storefront.call("POST", "orderstatuses.json", "{\"Name\": \"On hold\"}");
        var path = "orderstatuses/" + field(created, "ID") + ".json";
        System.out.println("created " + field(created, "Name"));

        var updated = storefront.call("PUT", path, "{\"Name\": \"Waiting\"}");
        System.out.println("updated " + field(updated, "Name"));

        var deleted = storefront.call("DELETE", path, null);
        System.out.println("deleted " + field(deleted, "Name"));

        var xml = storefront.call("POST", "orderstatuses.xml", "<OrderStatus><Name>Smith &amp; Sons</Name></OrderStatus>");
        var stored = DocumentBuilderFactory.newInstance().newDocumentBuilder()
            .parse(new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8))).getDocumentElement();
        System.out.println("created in XML " + stored.getElementsByTagName("Name").item(0).getTextContent());
        storefront.call("DELETE", "orderstatuses/" + stored.getAttribute("ID") + ".xml", null);
    }

    /** Returns the response's body. Throws with the problem document if the status isn't 2xx. */
    private String call(String method, String path, String body) throws IOException, InterruptedException {
        var request = HttpRequest.newBuilder(URI.create(address + "/restapi/" + path))
            .header("X-API-AUTH", key)
            .timeout(Duration.ofSeconds(10))
            .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
            .build();
        HttpResponse<String> response = http.send(request, BodyHandlers.ofString());
        if (response.statusCode() >= 300) throw new IOException(response.body());
        return response.body();
    }

    /** Java has no JSON parser. In a real program, use a library. */
    private static String field(String json, String name) {
        Matcher matcher = Pattern.compile("\"" + name + "\":\"?([^\",}]*)").matcher(json);
        if (!matcher.find()) throw new IllegalStateException(json);
        return matcher.group(1);
    }
}
